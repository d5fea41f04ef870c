"""The HTML report in a browser: records to show, hostile names, and a page that keeps what happens in it."""

"""Pages of the HTML report as tests see them: records to show, and the markup as a tree."""

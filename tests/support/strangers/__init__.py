"""Text that strangers write: names that act on readers, and what others make of them."""

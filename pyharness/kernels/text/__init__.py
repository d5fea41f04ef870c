"""Integer facts about texts."""

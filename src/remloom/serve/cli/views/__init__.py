"""Results as rich renderables, one view for a type of result. Nothing here prints."""

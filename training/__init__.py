"""What the heads are trained on, and how: python -m training."""

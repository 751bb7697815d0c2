"""What tests of Remloom, and of stores and embedders for it, are made of. Shipped, so that others can use it."""

"""What each primitive does to pixels: floats of shape (height, width, 3), encoded as on screen, 0 black and 1 white."""

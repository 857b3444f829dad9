"""Records of cycles, and their replay."""

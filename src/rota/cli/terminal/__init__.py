"""What only a terminal needs: a screen that is redrawn, a status line, a stream read in the background."""

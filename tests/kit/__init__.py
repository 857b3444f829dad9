"""What tests are written with. A test file imports from here and from `src`, never from another test file."""

"""What agreement is worth: arrays in, numbers out. Start at README.md."""

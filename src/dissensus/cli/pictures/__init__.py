"""Pictures: one file each. A picture is drawn from a finished result and comes with the data behind it."""

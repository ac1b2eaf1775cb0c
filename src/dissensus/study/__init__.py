"""Many runs: the same panel on many questions, and what comes of it."""

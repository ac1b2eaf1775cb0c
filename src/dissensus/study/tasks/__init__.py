"""Questions with right answers: readers of published sets, generators from a seed. See README.md."""

"""What people and programs are shown of plans and reasons: words, times, documents."""

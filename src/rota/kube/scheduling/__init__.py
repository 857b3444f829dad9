"""The scheduler itself: decide, bind, and report on pods, in kube-scheduler's words."""

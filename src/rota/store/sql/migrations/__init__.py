"""Every schema there was, each as the change from the one before. Never edited once released."""

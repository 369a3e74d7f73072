"""What clients, servers and their authors share: errors, messages, URI templates, path safety."""

"""What commands share: flags made of options, output, progress, gates, commands made of training tasks."""

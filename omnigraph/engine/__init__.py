"""What happens to the data of one snapshot."""

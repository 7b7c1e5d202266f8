"""The environments that trainers play, in the forms of the libraries that trainers are written for."""

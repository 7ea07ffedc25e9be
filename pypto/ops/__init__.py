"""The vocabulary: every operator declared once, one file per family. Importing this package registers all of them."""

"""`python -m projbandits`, where the command itself is not on the path."""

from projbandits.cli import main

if __name__ == "__main__":
    main()

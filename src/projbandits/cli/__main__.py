"""`python -m projbandits.cli`: the command line, where the script is not on the path."""

from projbandits.cli import main

if __name__ == "__main__":
    main()

"""python -m evorlgpu: the program evorl."""

import sys

from .program import main

sys.exit(main())

"""The seed's programs may lie beside the project. Where they do not, `tests/examples` shows the same things."""

from tests.seed.programs import SEED

collect_ignore = [] if SEED.is_dir() else ["test_seed.py"]

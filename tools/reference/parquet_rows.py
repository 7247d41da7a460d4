"""What pyarrow reads of a Parquet file, for engine/metrics: python3 parquet_rows.py metrics.parquet > engine/metrics/testdata/parquet.json

Needs: pip install pyarrow. The test writes the file to its folder if EVORL_PARQUET names one. Missing values are null, those that are not finite strings.
"""

import hashlib
import json
import math
import sys

import pyarrow.parquet

data = open(sys.argv[1], "rb").read()
table = pyarrow.parquet.read_table(sys.argv[1])
columns = {name: [x if x is None or math.isfinite(x) else str(x) for x in table[name].to_pylist()] for name in table.column_names}
json.dump({"sha256": hashlib.sha256(data).hexdigest(), "types": [str(f.type) for f in table.schema], "columns": columns}, sys.stdout, indent=1)

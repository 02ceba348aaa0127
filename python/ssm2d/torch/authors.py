"""Converts weights of the paper's published PyTorch module to this library.

The module holds, for K = directions * n_ssm systems, N coordinates and H channels: A.A_1 .. A.A_4
(K, N), or A_angle.A_1 .. and A_radius.A_1 .. when complex; B_1, B_2 (K, N), complex (K, N, 2); C_1,
C_2 of directions * H rows (2024), or K (2023); omega (H); normalization.weight, .bias (H) when it
normalises. The module does not use its parameter kernel_raw, if it has one.

The module of 2023 is assign="paper": direction r and channel h have the system r * n_ssm + h mod
n_ssm. The module of 2024 is assign="authors": (r * H + h) mod K."""
import torch

NAMES = ("A_1", "A_2", "A_3", "A_4")


def convert(state_dict, prefix: str, directions, skip: bool) -> tuple:
    """(options of the layer, its state dict)"""
    found = {name[len(prefix):]: value for name, value in state_dict.items()
             if name.startswith(prefix)}

    def take(name: str, shape: tuple) -> torch.Tensor:
        if name not in found:
            raise ValueError(f"state_dict: {prefix}{name} is missing")
        value = found.pop(name)
        if tuple(value.shape) != shape:
            raise ValueError(f"state_dict: {prefix}{name} has shape {tuple(value.shape)}, expected "
                             f"{shape}")
        return value.detach()

    def stack(names, shape: tuple) -> torch.Tensor:
        return torch.stack([take(name, shape) for name in names])

    complex = "A_angle.A_1" in found
    first = found.get("A_angle.A_1" if complex else "A.A_1")
    rows, omega = found.get("C_1"), found.get("omega")
    if any(value is None or value.dim() != rank
           for value, rank in ((first, 2), (rows, 2 + complex), (omega, 1))):
        raise ValueError(f"state_dict: with prefix {prefix!r} there are no A.A_1 (or A_angle.A_1), "
                         f"C_1 and omega of a "
                         f"2-D SSM, but {', '.join(list(found)[:8]) or 'nothing'}")
    (systems, states), channels, rows = first.shape, omega.shape[0], rows.shape[0]
    early = rows == systems and rows != (directions or rows // channels) * channels
    if directions is None:
        if early or rows % channels:
            raise ValueError(f"directions: must be given, for C_1 has {rows} rows, as many as "
                             f"there are systems")
        directions = rows // channels
    if directions not in (1, 2, 4):
        raise ValueError(f"directions={directions}: use 1, 2 or 4")
    if systems % directions:
        raise ValueError(f"directions={directions}: does not divide the {systems} systems of "
                         f"{prefix}A")
    pair = (2,) if complex else ()
    if complex:
        values = {a: stack([f"{a}.{name}" for name in NAMES], (systems, states))
                  for a in ("A_angle", "A_radius")}
    else:
        values = {"A": stack([f"A.{name}" for name in NAMES], (systems, states))}
    values["B"] = stack(("B_1", "B_2"), (systems, states, *pair))
    values["C"] = stack(("C_1", "C_2"), (systems if early else directions * channels, states,
                                         *pair))
    omega = take("omega", (channels,))
    if skip:
        values["D"] = omega
    layer_norm = "normalization.weight" in found
    if layer_norm:
        values["gamma"] = take("normalization.weight", (channels,))
        values["beta"] = take("normalization.bias", (channels,))
    found.pop("kernel_raw", None)
    if found and not prefix:
        raise ValueError(f"state_dict: {', '.join(found)} is not of a 2-D SSM; "
                         "is a prefix missing?")
    return dict(channels=channels, d_state=states, n_ssm=systems // directions,
                directions=directions, skip=skip, layer_norm=layer_norm,
                assign="paper" if early else "authors",
                complex="cartesian" if complex else False, c_per_channel=not early), values

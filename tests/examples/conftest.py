"""One thread for PyTorch, as everywhere in surpass: two gain nothing and lose much on a busy machine."""

import torch

torch.set_num_threads(1)

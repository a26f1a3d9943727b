// The bodies of what needs LibTorch, for those who take wick through CMake.
#include <wick/torch/impl/all_of_torch.ipp>

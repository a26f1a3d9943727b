#include <wick/version.hpp>

int main() { wick::detail::compiled<wick::detail::version_major, wick::detail::version_minor, 999>::here(); }

// Whether this is a build with a sanitizer, where tests do less.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define WICK_TEST_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WICK_TEST_TSAN
#endif
#endif

namespace wick_test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// Fewer rounds under a sanitizer, which makes each ten times dearer.
inline constexpr int rounds(int plain, int under_sanitizer) { return sanitized ? under_sanitizer : plain; }

}  // namespace wick_test

// Finds the characters that separate the fields and rows of a table, 64 at a time. For code that is compiled
// once.
#pragma once

#include <cstdint>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace wick::inline v0_1::detail {

/// The positions of some characters among 64, one bit each; `others` are quotes and NULs.
struct csv_marks {
  std::uint64_t lines = 0, separators = 0, others = 0;
};

struct plain_csv_marks {
  static csv_marks of(const char* text, char separator) noexcept {
    csv_marks out;
#ifdef __x86_64__
    const __m128i line = _mm_set1_epi8('\n'), part = _mm_set1_epi8(separator), quote = _mm_set1_epi8('"');
    for (unsigned i = 0; i < 64; i += 16) {
      const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + i));
      const auto bits = [i](const __m128i& equal) {
        return std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(equal))} << i;
      };
      out.lines |= bits(_mm_cmpeq_epi8(some, line));
      out.separators |= bits(_mm_cmpeq_epi8(some, part));
      out.others |=
          bits(_mm_or_si128(_mm_cmpeq_epi8(some, quote), _mm_cmpeq_epi8(some, _mm_setzero_si128())));
    }
#else
    for (unsigned i = 0; i < 64; ++i) {
      out.lines |= std::uint64_t{text[i] == '\n'} << i;
      out.separators |= std::uint64_t{text[i] == separator} << i;
      out.others |= std::uint64_t{text[i] == '"' || text[i] == '\0'} << i;
    }
#endif
    return out;
  }
};

#ifdef __x86_64__
struct avx2_csv_marks {
  [[gnu::target("avx2")]] static std::uint64_t bits(__m256i low, __m256i high) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(low))} |
           std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32;
  }
  [[gnu::target("avx2")]] static csv_marks of(const char* text, char separator) noexcept {
    const __m256i line = _mm256_set1_epi8('\n'), part = _mm256_set1_epi8(separator),
                  quote = _mm256_set1_epi8('"'), nul = _mm256_setzero_si256();
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text)),
                  high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32));
    return {bits(_mm256_cmpeq_epi8(low, line), _mm256_cmpeq_epi8(high, line)),
            bits(_mm256_cmpeq_epi8(low, part), _mm256_cmpeq_epi8(high, part)),
            bits(_mm256_or_si256(_mm256_cmpeq_epi8(low, quote), _mm256_cmpeq_epi8(low, nul)),
                 _mm256_or_si256(_mm256_cmpeq_epi8(high, quote), _mm256_cmpeq_epi8(high, nul)))};
  }
};
#endif

}  // namespace wick::detail

//go:build !race && !asan && !msan

package ledger

// Sanitized reports whether a sanitizer maps memory of its own as the program runs.
const Sanitized = false

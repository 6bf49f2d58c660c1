//go:build race || asan || msan

package ledger

// sanitized reports whether a sanitizer maps memory of its own as the program runs.
const sanitized = true

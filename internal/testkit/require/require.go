// Package require has the assertions of package assert; an assertion that does not hold ends the
// test. They must be called on the test's own goroutine.
package require

import (
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// T is what an assertion needs of a test.
type T interface {
	assert.T
	FailNow()
}

// A fatal ends the test where an assertion fails it.
type fatal struct{ T }

func (t fatal) Errorf(format string, args ...any) {
	t.T.Helper()
	t.T.Errorf(format, args...)
	t.T.FailNow()
}

// Fail is assert.Fail, and ends the test.
func Fail(t T, text string, message ...any) {
	t.Helper()
	assert.Fail(fatal{t}, text, message...)
}

// True is assert.True, and ends the test.
func True(t T, ok bool, message ...any) {
	t.Helper()
	assert.True(fatal{t}, ok, message...)
}

// False is assert.False, and ends the test.
func False(t T, ok bool, message ...any) {
	t.Helper()
	assert.False(fatal{t}, ok, message...)
}

// Equal is assert.Equal, and ends the test.
func Equal(t T, want, got any, message ...any) {
	t.Helper()
	assert.Equal(fatal{t}, want, got, message...)
}

// NotEqual is assert.NotEqual, and ends the test.
func NotEqual(t T, want, got any, message ...any) {
	t.Helper()
	assert.NotEqual(fatal{t}, want, got, message...)
}

// EqualValues is assert.EqualValues, and ends the test.
func EqualValues(t T, want, got any, message ...any) {
	t.Helper()
	assert.EqualValues(fatal{t}, want, got, message...)
}

// Same is assert.Same, and ends the test.
func Same(t T, want, got any, message ...any) {
	t.Helper()
	assert.Same(fatal{t}, want, got, message...)
}

// Zero is assert.Zero, and ends the test.
func Zero(t T, v any, message ...any) {
	t.Helper()
	assert.Zero(fatal{t}, v, message...)
}

// NotZero is assert.NotZero, and ends the test.
func NotZero(t T, v any, message ...any) {
	t.Helper()
	assert.NotZero(fatal{t}, v, message...)
}

// Nil is assert.Nil, and ends the test.
func Nil(t T, v any, message ...any) {
	t.Helper()
	assert.Nil(fatal{t}, v, message...)
}

// NotNil is assert.NotNil, and ends the test.
func NotNil(t T, v any, message ...any) {
	t.Helper()
	assert.NotNil(fatal{t}, v, message...)
}

// Empty is assert.Empty, and ends the test.
func Empty(t T, v any, message ...any) {
	t.Helper()
	assert.Empty(fatal{t}, v, message...)
}

// NotEmpty is assert.NotEmpty, and ends the test.
func NotEmpty(t T, v any, message ...any) {
	t.Helper()
	assert.NotEmpty(fatal{t}, v, message...)
}

// Len is assert.Len, and ends the test.
func Len(t T, v any, want int, message ...any) {
	t.Helper()
	assert.Len(fatal{t}, v, want, message...)
}

// Contains is assert.Contains, and ends the test.
func Contains(t T, whole, part any, message ...any) {
	t.Helper()
	assert.Contains(fatal{t}, whole, part, message...)
}

// NotContains is assert.NotContains, and ends the test.
func NotContains(t T, whole, part any, message ...any) {
	t.Helper()
	assert.NotContains(fatal{t}, whole, part, message...)
}

// NoError is assert.NoError, and ends the test.
func NoError(t T, err error, message ...any) {
	t.Helper()
	assert.NoError(fatal{t}, err, message...)
}

// Error is assert.Error, and ends the test.
func Error(t T, err error, message ...any) {
	t.Helper()
	assert.Error(fatal{t}, err, message...)
}

// ErrorContains is assert.ErrorContains, and ends the test.
func ErrorContains(t T, err error, part string, message ...any) {
	t.Helper()
	assert.ErrorContains(fatal{t}, err, part, message...)
}

// ErrorIs is assert.ErrorIs, and ends the test.
func ErrorIs(t T, err, target error, message ...any) {
	t.Helper()
	assert.ErrorIs(fatal{t}, err, target, message...)
}

// ErrorAs is assert.ErrorAs, and ends the test.
func ErrorAs(t T, err error, target any, message ...any) {
	t.Helper()
	assert.ErrorAs(fatal{t}, err, target, message...)
}

// Less is assert.Less, and ends the test.
func Less(t T, a, b any, message ...any) {
	t.Helper()
	assert.Less(fatal{t}, a, b, message...)
}

// LessOrEqual is assert.LessOrEqual, and ends the test.
func LessOrEqual(t T, a, b any, message ...any) {
	t.Helper()
	assert.LessOrEqual(fatal{t}, a, b, message...)
}

// Greater is assert.Greater, and ends the test.
func Greater(t T, a, b any, message ...any) {
	t.Helper()
	assert.Greater(fatal{t}, a, b, message...)
}

// GreaterOrEqual is assert.GreaterOrEqual, and ends the test.
func GreaterOrEqual(t T, a, b any, message ...any) {
	t.Helper()
	assert.GreaterOrEqual(fatal{t}, a, b, message...)
}

// Positive is assert.Positive, and ends the test.
func Positive(t T, v any, message ...any) {
	t.Helper()
	assert.Positive(fatal{t}, v, message...)
}

// InDelta is assert.InDelta, and ends the test.
func InDelta(t T, want, got any, delta float64, message ...any) {
	t.Helper()
	assert.InDelta(fatal{t}, want, got, delta, message...)
}

// Regexp is assert.Regexp, and ends the test.
func Regexp(t T, expression, text any, message ...any) {
	t.Helper()
	assert.Regexp(fatal{t}, expression, text, message...)
}

// JSONEq is assert.JSONEq, and ends the test.
func JSONEq(t T, want, got string, message ...any) {
	t.Helper()
	assert.JSONEq(fatal{t}, want, got, message...)
}

// Panics is assert.Panics, and ends the test.
func Panics(t T, f func(), message ...any) {
	t.Helper()
	assert.Panics(fatal{t}, f, message...)
}

// Eventually is assert.Eventually, and ends the test.
func Eventually(t T, condition func() bool, limit, tick time.Duration, message ...any) {
	t.Helper()
	assert.Eventually(fatal{t}, condition, limit, tick, message...)
}

// NoFileExists is assert.NoFileExists, and ends the test.
func NoFileExists(t T, name string, message ...any) {
	t.Helper()
	assert.NoFileExists(fatal{t}, name, message...)
}

// NoDirExists is assert.NoDirExists, and ends the test.
func NoDirExists(t T, name string, message ...any) {
	t.Helper()
	assert.NoDirExists(fatal{t}, name, message...)
}

// PanicsWithValue is assert.PanicsWithValue, and ends the test.
func PanicsWithValue(t T, want any, f func(), message ...any) {
	t.Helper()
	assert.PanicsWithValue(fatal{t}, want, f, message...)
}

// EqualError is assert.EqualError, and ends the test.
func EqualError(t T, err error, want string, message ...any) {
	t.Helper()
	assert.EqualError(fatal{t}, err, want, message...)
}

// DirExists is assert.DirExists, and ends the test.
func DirExists(t T, name string, message ...any) {
	t.Helper()
	assert.DirExists(fatal{t}, name, message...)
}

package assert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// NoError asserts that an error is nil.
func NoError(t T, err error, message ...any) bool {
	t.Helper()
	return that(t, err == nil, message, "unexpected error: %+v", err)
}

// Error asserts that an error is not nil.
func Error(t T, err error, message ...any) bool {
	t.Helper()
	return that(t, err != nil, message, "an error is expected")
}

// ErrorContains asserts that an error's text has a part.
func ErrorContains(t T, err error, part string, message ...any) bool {
	t.Helper()
	return that(t, err != nil && strings.Contains(err.Error(), part), message, "the error %v\ndoes not contain %q", err, part)
}

// ErrorIs asserts errors.Is.
func ErrorIs(t T, err, target error, message ...any) bool {
	t.Helper()
	return that(t, errors.Is(err, target), message, "the error %v\nis not %v", err, target)
}

// ErrorAs asserts errors.As.
func ErrorAs(t T, err error, target any, message ...any) bool {
	t.Helper()
	return that(t, errors.As(err, target), message, "the error %v (%T)\nis no %T", err, err, target)
}

// compare compares numbers or texts of one kind. It returns 2 for what cannot be compared.
func compare(a, b any) int {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case !x.IsValid() || !y.IsValid() || x.Kind() != y.Kind():
		return 2
	case x.CanInt():
		return cmp.Compare(x.Int(), y.Int())
	case x.CanUint():
		return cmp.Compare(x.Uint(), y.Uint())
	case x.CanFloat():
		return cmp.Compare(x.Float(), y.Float())
	case x.Kind() == reflect.String:
		return cmp.Compare(x.String(), y.String())
	}
	return 2
}

func order(t T, a, b any, message []any, sign string, ok func(int) bool) bool {
	t.Helper()
	c := compare(a, b)
	return that(t, c != 2 && ok(c), message, "expected %v %s %v (%T, %T)", a, sign, b, a, b)
}

// Less asserts that a < b. Both must be of one kind.
func Less(t T, a, b any, message ...any) bool {
	t.Helper()
	return order(t, a, b, message, "<", func(c int) bool { return c < 0 })
}

// LessOrEqual asserts that a <= b.
func LessOrEqual(t T, a, b any, message ...any) bool {
	t.Helper()
	return order(t, a, b, message, "<=", func(c int) bool { return c <= 0 })
}

// Greater asserts that a > b.
func Greater(t T, a, b any, message ...any) bool {
	t.Helper()
	return order(t, a, b, message, ">", func(c int) bool { return c > 0 })
}

// GreaterOrEqual asserts that a >= b.
func GreaterOrEqual(t T, a, b any, message ...any) bool {
	t.Helper()
	return order(t, a, b, message, ">=", func(c int) bool { return c >= 0 })
}

// Positive asserts that a number is greater than zero.
func Positive(t T, v any, message ...any) bool {
	t.Helper()
	return order(t, v, reflect.Zero(reflect.TypeOf(v)).Interface(), message, ">", func(c int) bool { return c > 0 })
}

// InDelta asserts that two numbers differ by at most delta.
func InDelta(t T, want, got any, delta float64, message ...any) bool {
	t.Helper()
	a, ok := number(want)
	b, ok2 := number(got)
	return that(t, ok && ok2 && math.Abs(a-b) <= delta, message, "%v and %v differ by more than %v", want, got, delta)
}

func number(v any) (float64, bool) {
	float := reflect.TypeOf(0.0)
	if r := reflect.ValueOf(v); r.IsValid() && isNumber(r) {
		return r.Convert(float).Float(), true
	}
	return 0, false
}

// Regexp asserts that a text matches an expression, which is a *regexp.Regexp or its text.
func Regexp(t T, expression, text any, message ...any) bool {
	t.Helper()
	re, ok := expression.(*regexp.Regexp)
	if !ok {
		re = regexp.MustCompile(fmt.Sprint(expression))
	}
	return that(t, re.MatchString(fmt.Sprint(text)), message, "%v\ndoes not match %s", text, re)
}

// JSONEq asserts that two texts are the same JSON.
func JSONEq(t T, want, got string, message ...any) bool {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(want), &a), json.Unmarshal([]byte(got), &b)); err != nil {
		return Fail(t, err.Error(), message...)
	}
	return Equal(t, a, b, message...)
}

// Panics asserts that a function panics.
func Panics(t T, f func(), message ...any) bool {
	t.Helper()
	return that(t, panics(f), message, "should panic")
}

func panics(f func()) (yes bool) {
	yes = true
	defer func() { _ = recover() }()
	f()
	return false
}

// Eventually asserts that a condition becomes true. It checks the condition each tick, and gives up
// after the limit.
func Eventually(t T, condition func() bool, limit, tick time.Duration, message ...any) bool {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(tick) {
		if condition() {
			return true
		}
		if time.Now().After(deadline) {
			return Fail(t, fmt.Sprintf("still not so after %s", limit), message...)
		}
	}
}

// FileExists asserts that a file with this name exists, and is no folder.
func FileExists(t T, name string, message ...any) bool {
	t.Helper()
	info, err := os.Stat(name)
	return that(t, err == nil && !info.IsDir(), message, "there is no file %s: %v", name, err)
}

// NoFileExists asserts the opposite of FileExists.
func NoFileExists(t T, name string, message ...any) bool {
	t.Helper()
	info, err := os.Lstat(name)
	return that(t, err != nil || info.IsDir(), message, "there is a file %s", name)
}

// DirExists asserts that there is a folder of this name.
func DirExists(t T, name string, message ...any) bool {
	t.Helper()
	info, err := os.Stat(name)
	return that(t, err == nil && info.IsDir(), message, "there is no folder %s: %v", name, err)
}

// NoDirExists asserts that there is no folder of this name.
func NoDirExists(t T, name string, message ...any) bool {
	t.Helper()
	info, err := os.Stat(name)
	return that(t, err != nil || !info.IsDir(), message, "there is a folder %s", name)
}

// PanicsWithValue asserts that a function panics with a value.
func PanicsWithValue(t T, want any, f func(), message ...any) bool {
	t.Helper()
	var got any
	if !panics(func() {
		defer func() {
			if got = recover(); got != nil {
				panic(got)
			}
		}()
		f()
	}) {
		return Fail(t, "should panic", message...)
	}
	return Equal(t, want, got, message...)
}

// EqualError asserts an error's text.
func EqualError(t T, err error, want string, message ...any) bool {
	t.Helper()
	return that(t, err != nil && err.Error() == want, message, "the error should be %q, is %v", want, err)
}

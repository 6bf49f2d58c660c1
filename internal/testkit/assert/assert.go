// Package assert has the assertions of our own tests, under the names of
// github.com/stretchr/testify/assert. The main module does not require testify: "go mod tidy" adds
// what the tests of its packages need to the go.sum of each user (8 lines), and "go get" raises an
// older testify of theirs.
//
// An assertion that does not hold fails the test and returns false; the test continues. Further
// arguments are a message: a format and its arguments, or one value.
package assert

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// T is what an assertion needs of a test.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// AnError is an error for tests that need one.
//
//lint:ignore ST1012 it has testify's name
var AnError = errors.New("an error for a test")

// Fail fails the test.
func Fail(t T, text string, message ...any) bool {
	t.Helper()
	switch len(message) {
	case 0:
	case 1:
		text += fmt.Sprintf("\n%+v", message[0])
	default:
		text += "\n" + fmt.Sprintf(fmt.Sprint(message[0]), message[1:]...)
	}
	t.Errorf("%s", text)
	return false
}

func that(t T, ok bool, message []any, format string, args ...any) bool {
	t.Helper()
	return ok || Fail(t, fmt.Sprintf(format, args...), message...)
}

// True asserts that a condition holds.
func True(t T, ok bool, message ...any) bool {
	t.Helper()
	return that(t, ok, message, "should be true")
}

// False asserts that a condition does not hold.
func False(t T, ok bool, message ...any) bool {
	t.Helper()
	return that(t, !ok, message, "should be false")
}

// ObjectsAreEqual reports whether two values are equal, byte slices by content.
func ObjectsAreEqual(want, got any) bool {
	if a, ok := want.([]byte); ok {
		b, ok := got.([]byte)
		return ok && (a == nil) == (b == nil) && bytes.Equal(a, b)
	}
	return reflect.DeepEqual(want, got)
}

// Equal asserts that two values are equal, in type too.
func Equal(t T, want, got any, message ...any) bool {
	t.Helper()
	return ObjectsAreEqual(want, got) || Fail(t, difference(want, got), message...)
}

// difference shows two values; for texts of several lines it adds the lines that differ.
func difference(want, got any) string {
	a, b := shown{want}, shown{got}
	if x, ok := want.(string); ok {
		if y, ok := got.(string); ok && strings.Contains(x+y, "\n") {
			var diff strings.Builder
			xs, ys := strings.Split(x, "\n"), strings.Split(y, "\n")
			for i := range max(len(xs), len(ys)) {
				if i >= len(xs) || i >= len(ys) || xs[i] != ys[i] {
					if i < len(xs) {
						fmt.Fprintf(&diff, "\n%4d - %s", i+1, xs[i])
					}
					if i < len(ys) {
						fmt.Fprintf(&diff, "\n%4d + %s", i+1, ys[i])
					}
				}
			}
			return fmt.Sprintf("not equal:\nwant %s\n got %s\nby line:%s", a, b, &diff)
		}
	}
	return fmt.Sprintf("not equal:\nwant %s\n got %s", a, b)
}

// A shown is a value that is formatted only when an assertion fails.
type shown struct{ v any }

func (s shown) String() string {
	switch v := s.v.(type) {
	case error:
		return fmt.Sprintf("%T(%q)", v, v.Error())
	case fmt.Stringer:
		return fmt.Sprintf("%#v (%v)", s.v, s.v)
	}
	return fmt.Sprintf("%#v", s.v)
}

// NotEqual asserts that two values are not equal.
func NotEqual(t T, want, got any, message ...any) bool {
	t.Helper()
	return that(t, !ObjectsAreEqual(want, got), message, "should not be %s", shown{got})
}

// EqualValues asserts that two values are equal, or that the first is once it is converted to the
// type of the second.
func EqualValues(t T, want, got any, message ...any) bool {
	t.Helper()
	return equalValues(want, got) || Fail(t, difference(want, got), message...)
}

func equalValues(want, got any) bool {
	if ObjectsAreEqual(want, got) {
		return true
	}
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	if !a.IsValid() || !b.IsValid() || !a.CanConvert(b.Type()) || !reflect.DeepEqual(a.Convert(b.Type()).Interface(), got) {
		return false
	}
	if !isNumber(a) || !isNumber(b) {
		return isNumber(a) == isNumber(b) // the number 65 is not the text "A"
	}
	return reflect.DeepEqual(b.Convert(a.Type()).Interface(), want) // nothing was lost
}

func isNumber(v reflect.Value) bool { return v.CanInt() || v.CanUint() || v.CanFloat() }

// Same asserts that two pointers are equal.
func Same(t T, want, got any, message ...any) bool {
	t.Helper()
	return that(t, want == got, message, "not the same: %p and %p", want, got)
}

// Zero asserts that a value is the zero value of its type.
func Zero(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, isZero(v), message, "should be zero, is %s", shown{v})
}

// NotZero asserts the opposite of Zero.
func NotZero(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, !isZero(v), message, "should not be zero")
}

func isZero(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }

// Nil asserts that a value is nil, or an interface that holds a nil.
func Nil(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, isNil(v), message, "should be nil, is %s", shown{v})
}

// NotNil asserts the opposite of Nil.
func NotNil(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, !isNil(v), message, "should not be nil")
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice, reflect.UnsafePointer:
		return r.IsNil()
	}
	return false
}

// Empty asserts that a value is empty: it has the length 0, or is zero.
func Empty(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, isEmpty(v), message, "should be empty, is %s", shown{v})
}

// NotEmpty asserts the opposite of Empty.
func NotEmpty(t T, v any, message ...any) bool {
	t.Helper()
	return that(t, !isEmpty(v), message, "should not be empty")
}

func isEmpty(v any) bool {
	n, ok := length(v)
	return ok && n == 0 || isZero(v)
}

// Len asserts the length of a value.
func Len(t T, v any, want int, message ...any) bool {
	t.Helper()
	got, ok := length(v)
	return that(t, ok && got == want, message, "the length should be %d, is %d: %s", want, got, shown{v})
}

func length(v any) (int, bool) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		return r.Len(), true
	}
	return -1, false
}

// Contains asserts that a text has a part, a list an element or a map a key.
func Contains(t T, whole, part any, message ...any) bool {
	t.Helper()
	return that(t, contains(whole, part), message, "%s\ndoes not contain %s", shown{whole}, shown{part})
}

// NotContains asserts the opposite of Contains.
func NotContains(t T, whole, part any, message ...any) bool {
	t.Helper()
	return that(t, !contains(whole, part), message, "%s\nshould not contain %s", shown{whole}, shown{part})
}

func contains(whole, part any) bool {
	r := reflect.ValueOf(whole)
	switch r.Kind() {
	case reflect.String:
		return strings.Contains(r.String(), reflect.ValueOf(part).String())
	case reflect.Map:
		for _, key := range r.MapKeys() {
			if ObjectsAreEqual(key.Interface(), part) {
				return true
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range r.Len() {
			if ObjectsAreEqual(r.Index(i).Interface(), part) {
				return true
			}
		}
	}
	return false
}

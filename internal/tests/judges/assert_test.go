package judges_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	testify "github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// silent is a test that fails without output.
type silent struct{ text string }

func (*silent) Helper()                             {}
func (s *silent) Errorf(format string, args ...any) { s.text = fmt.Sprintf(format, args...) }

type word string

var (
	number, other int
	nilError      *fs.PathError
	errWrapped    = fmt.Errorf("wrapped: %w", fs.ErrNotExist)
)

var values = []any{
	nil, 0, 1, -1, int64(1), int64(-1), uint8(1), uint64(0), uint64(1 << 63), 1.0, 1.5, 0.0, "", "a", "ab", "a\nb", word("a"), word(""), true, false,
	[]byte(nil),
	[]byte{},
	[]byte("a"),
	[]int{},
	[]int(nil),
	[]int{1, 2},
	[]string{"a"},
	[2]int{},
	[0]int{},
	[1]string{"a"},
	map[string]int{},
	map[string]int{"a": 1},
	map[string]int(nil), &number, &other, (*int)(nil), (func())(nil),
	struct{ a int }{},
	struct{ a int }{1},
	time.Time{},
	time.Second, time.Duration(0), fs.ErrNotExist, error(nil), nilError, make(chan int),
	[]any{1, "a", nil},
}

func TestAssertOneValue(t *testing.T) {
	for name, f := range map[string]struct {
		ours   func(assert.T, any, ...any) bool
		theirs func(testify.TestingT, any, ...any) bool
	}{
		"Zero": {assert.Zero, testify.Zero}, "NotZero": {assert.NotZero, testify.NotZero}, "Nil": {assert.Nil, testify.Nil},
		"NotNil": {assert.NotNil, testify.NotNil}, "Empty": {assert.Empty, testify.Empty}, "NotEmpty": {assert.NotEmpty, testify.NotEmpty},
	} {
		for _, v := range values {
			if p, ok := v.(*int); ok && p != nil && strings.HasSuffix(name, "Empty") {
				continue // testify follows pointers there
			}
			ours, theirs := new(silent), new(silent)
			require.Equal(t, f.theirs(theirs, v), f.ours(ours, v, "of %d", 5), "%s(%#v)", name, v)
			require.Equal(t, theirs.text == "", ours.text == "", "%s(%#v)", name, v)
			if ours.text != "" {
				require.Contains(t, ours.text, "\nof 5")
			}
		}
	}
}

func TestAssertTwoValues(t *testing.T) {
	for name, f := range map[string]struct {
		ours   func(assert.T, any, any, ...any) bool
		theirs func(testify.TestingT, any, any, ...any) bool
	}{
		"Equal": {assert.Equal, testify.Equal}, "NotEqual": {assert.NotEqual, testify.NotEqual}, "EqualValues": {assert.EqualValues, testify.EqualValues},
		"Contains": {assert.Contains, testify.Contains},
		"Less":     {assert.Less, testify.Less}, "LessOrEqual": {assert.LessOrEqual, testify.LessOrEqual},
		"Greater": {assert.Greater, testify.Greater}, "GreaterOrEqual": {assert.GreaterOrEqual, testify.GreaterOrEqual},
	} {
		for _, a := range values {
			for _, b := range values {
				if name == "NotEqual" && (isFunc(a) || isFunc(b)) || isFunc(a) && isFunc(b) {
					continue // testify refuses to compare functions
				}
				if strings.ContainsAny(name, "LG") && (isTime(a) || isBytes(a)) {
					continue // testify orders those, too
				}
				if name == "EqualValues" && !(isPlain(a) && isPlain(b)) {
					continue // testify panics for some others, and to it 1 and 1.5 are equal
				}
				require.Equal(t, f.theirs(new(silent), a, b), f.ours(new(silent), a, b), "%s(%#v, %#v)", name, a, b)
			}
		}
	}
}

func isPlain(v any) bool {
	r := reflect.ValueOf(v)
	return r.IsValid() && (r.CanInt() || r.CanUint() || r.Kind() == reflect.String || v == 1.0 || v == 0.0)
}

func isFunc(v any) bool  { _, ok := v.(func()); return ok }
func isTime(v any) bool  { _, ok := v.(time.Time); return ok }
func isBytes(v any) bool { _, ok := v.([]byte); return ok }

func TestAssertErrors(t *testing.T) {
	for _, err := range []error{nil, fs.ErrNotExist, errWrapped, errors.New("other")} {
		s := new(silent)
		require.Equal(t, testify.NoError(s, err), assert.NoError(s, err))
		require.Equal(t, testify.Error(s, err), assert.Error(s, err))
		require.Equal(t, testify.ErrorIs(s, err, fs.ErrNotExist), assert.ErrorIs(s, err, fs.ErrNotExist))
		require.Equal(t, testify.ErrorContains(s, err, "does not"), assert.ErrorContains(s, err, "does not"))
		require.Equal(t, testify.EqualError(s, err, "other"), assert.EqualError(s, err, "other"))
		var a, b *fs.PathError
		require.Equal(t, testify.ErrorAs(s, err, &a), assert.ErrorAs(s, err, &b))
	}
}

func TestAssertOthers(t *testing.T) {
	s := new(silent)
	for _, v := range []any{1, -1, 0, 1.5, int64(-3), uint(2)} {
		require.Equal(t, testify.Positive(s, v), assert.Positive(s, v), v)
		require.Equal(t, testify.InDelta(s, 1, v, 0.5), assert.InDelta(s, 1, v, 0.5), v)
	}
	require.True(t, assert.Same(s, &number, &number))
	require.False(t, assert.Same(s, &number, &other))
	require.True(t, assert.Len(s, []int{1}, 1))
	require.False(t, assert.Len(s, []int{1}, 2))
	require.False(t, assert.Len(s, 7, 0))
	require.True(t, assert.Regexp(s, `^a+$`, "aa"))
	require.False(t, assert.Regexp(s, regexp.MustCompile(`^a+$`), "ab"))
	require.True(t, assert.JSONEq(s, `{"a": [1, 2]}`, `{"a":[1,2]}`))
	require.False(t, assert.JSONEq(s, `{"a": [1, 2]}`, `{"a":[2,1]}`))
	require.False(t, assert.JSONEq(s, `{`, `{`))
	require.True(t, assert.Panics(s, func() { panic(nil) }))
	require.False(t, assert.Panics(s, func() {}))
	require.True(t, assert.PanicsWithValue(s, 5, func() { panic(5) }))
	require.False(t, assert.PanicsWithValue(s, 5, func() { panic(6) }))
	require.False(t, assert.PanicsWithValue(s, 5, func() {}))
	require.False(t, assert.Eventually(s, func() bool { return false }, 0, 0))
	require.True(t, assert.Eventually(s, func() bool { return true }, 0, 0))
	require.True(t, assert.NotContains(s, "abc", "d"))
	require.True(t, assert.FileExists(s, "doc.go"))
	require.False(t, assert.FileExists(s, "."))
	require.True(t, assert.NoFileExists(s, "no.go"))
	require.False(t, assert.NoFileExists(s, "doc.go"))
	require.True(t, assert.DirExists(s, "."))
	require.False(t, assert.DirExists(s, "doc.go"))
	require.True(t, assert.NoDirExists(s, "doc.go"))
	require.False(t, assert.NoDirExists(s, "."))
}

// ended is a test that ends itself by a panic.
type ended struct{ silent }

func (*ended) FailNow() { panic("ended") }

func TestRequire(t *testing.T) {
	e := new(ended)
	require.Equal(e, 1, 1)
	require.Panics(t, func() { require.Equal(e, 1, 2, "figures") })
	require.Equal(t, "not equal:\nwant 1\n got 2\nfigures", e.text)
}

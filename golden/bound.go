package golden

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Bound says how many objects, or bytes, an entry may have. The zero value is "exactly 0". Bounds
// are values and may be compared with ==.
type Bound struct {
	form    form
	figure  int64 // never negative
	percent int   // for within: 1 to maxPercent
}

type form uint8

const (
	exactly form = iota
	atMost
	within
	anything
)

const maxPercent = 999

// Exactly returns the bound n. A negative n counts as 0.
func Exactly(n int64) Bound { return Bound{form: exactly, figure: max(n, 0)} }

// AtMost returns the bound <=n. A negative n counts as 0.
func AtMost(n int64) Bound { return Bound{form: atMost, figure: max(n, 0)} }

// Within returns the bound n~percent%. A negative n counts as 0; percent is held between 0, which
// makes the bound exact, and 999.
func Within(n int64, percent int) Bound {
	if percent <= 0 {
		return Exactly(n)
	}
	return Bound{form: within, figure: max(n, 0), percent: min(percent, maxPercent)}
}

// Any returns the bound *.
func Any() Bound { return Bound{form: anything} }

// Max returns the largest number that the bound allows, and false if there is none.
func (b Bound) Max() (n int64, limited bool) {
	switch b.form {
	case within:
		return addSaturating(b.figure, b.slack()), true
	case anything:
		return 0, false
	default:
		return b.figure, true
	}
}

// Holds reports whether n is not more than the bound allows.
func (b Bound) Holds(n int64) bool {
	limit, limited := b.Max()
	return !limited || n <= limit
}

// clamp returns n, or the largest number that the bound allows if that is less.
func (b Bound) clamp(n int64) int64 { return n - b.excess(n) }

// Loose reports whether n is so much less than the bound's figure that the bound can be tightened.
// Limits (<=N), which a human or Calibrate has set, and * are never loose.
func (b Bound) Loose(n int64) bool {
	switch b.form {
	case exactly:
		return n < b.figure
	case within:
		return n < b.figure-b.slack()
	default:
		return false
	}
}

// allowsAbsence reports whether the bound's form (<=N or *) allows 0 without a need to tighten it.
func (b Bound) allowsAbsence() bool { return b.form == atMost || b.form == anything }

// refit returns the bound if n fits it, else a bound of the same form that n fits.
func (b Bound) refit(n int64) Bound {
	if b.Holds(n) && !b.Loose(n) {
		return b
	}
	b.figure = max(n, 0)
	return b
}

// slack returns percent % of the figure, rounded down.
func (b Bound) slack() int64 {
	p := int64(b.percent)
	whole, rest := b.figure/100, b.figure%100
	if whole > math.MaxInt64/p-p {
		return math.MaxInt64
	}
	return whole*p + rest*p/100
}

// excess returns by how much n exceeds the bound; 0 if it does not.
func (b Bound) excess(n int64) int64 {
	if limit, limited := b.Max(); limited && n > limit {
		return n - limit
	}
	return 0
}

// String returns the bound as it stands in the objects column: "12", "<=100", "4096~10%" or "*".
func (b Bound) String() string {
	switch b.form {
	case atMost:
		return "<=" + strconv.FormatInt(b.figure, 10)
	case within:
		return strconv.FormatInt(b.figure, 10) + "~" + strconv.Itoa(b.percent) + "%"
	case anything:
		return "*"
	default:
		return strconv.FormatInt(b.figure, 10)
	}
}

// size returns the bound as it stands in the bytes column.
func (b Bound) size() string {
	if b.form != atMost || b.figure == 0 {
		return b.String()
	}
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; b.figure%u.bytes == 0 {
			return "<=" + strconv.FormatInt(b.figure/u.bytes, 10) + u.name
		}
	}
	return b.String()
}

var units = [...]struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
}

// parseBound reads one bound. column is "objects" or "bytes"; only bytes have units. The error's
// text is the message of a SyntaxError.
func parseBound(text, column string) (Bound, error) {
	if text == "*" {
		return Any(), nil
	}
	if limit, ok := strings.CutPrefix(text, "<="); ok {
		n, err := parseFigure(limit, text, column)
		return AtMost(n), err
	}
	figure, tolerance, ok := strings.Cut(text, "~")
	n, err := parseFigure(figure, text, column)
	if err != nil || !ok {
		return Exactly(n), err
	}
	digits, ok := strings.CutSuffix(tolerance, "%")
	if !ok || !isDigits(digits) {
		return Bound{}, unexpectedBound(text, column)
	}
	percent, err := strconv.Atoi(digits)
	if err != nil || percent > maxPercent {
		return Bound{}, fmt.Errorf("tolerance in %q is too large (at most %d%%; write * to allow anything)", clip(text), maxPercent)
	}
	return Within(n, percent), nil
}

// parseFigure reads a number with an optional unit; whole is the bound it is part of.
func parseFigure(text, whole, column string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(digits):]
	if !isDigits(digits) || unit != "" && column != "bytes" {
		return 0, unexpectedBound(whole, column)
	}
	factor := int64(1)
	if unit != "" {
		factor = 0
		for _, u := range units {
			if unit == u.name {
				factor = u.bytes
			}
		}
		if factor == 0 {
			return 0, fmt.Errorf("unknown unit %q in the bound on bytes %q: use KiB, MiB, GiB or TiB", clip(unit), clip(whole))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("bound on %s %q is too large (at most %d)", column, clip(whole), int64(math.MaxInt64))
	}
	return n * factor, nil
}

func unexpectedBound(text, column string) error {
	return fmt.Errorf("expected a bound on %s (a number, <=N, N~P%% or *), found %q", column, clip(text))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// addSaturating adds two numbers that are not negative.
func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

package golden

import (
	"math"
	"math/big"
	"testing"
)

func TestParseBound(t *testing.T) {
	const maxText = "9223372036854775807"
	tests := []struct {
		text, column string
		want         Bound
		canonical    string // in that column
	}{
		{"0", "objects", Exactly(0), "0"},
		{"12", "objects", Exactly(12), "12"},
		{"0012", "objects", Exactly(12), "12"},
		{maxText, "objects", Exactly(math.MaxInt64), maxText},
		{"<=100", "objects", AtMost(100), "<=100"},
		{"<=1024", "objects", AtMost(1024), "<=1024"},
		{"4~50%", "objects", Within(4, 50), "4~50%"},
		{"4~0%", "objects", Exactly(4), "4"},
		{"*", "objects", Any(), "*"},
		{"4096", "bytes", Exactly(4096), "4096"},
		{"4KiB", "bytes", Exactly(4096), "4096"},
		{"4KiB~10%", "bytes", Within(4096, 10), "4096~10%"},
		{"<=0", "bytes", AtMost(0), "<=0"},
		{"<=0TiB", "bytes", AtMost(0), "<=0"},
		{"<=1023", "bytes", AtMost(1023), "<=1023"},
		{"<=1024", "bytes", AtMost(1024), "<=1KiB"},
		{"<=1536KiB", "bytes", AtMost(1536 << 10), "<=1536KiB"},
		{"<=2048KiB", "bytes", AtMost(2 << 20), "<=2MiB"},
		{"<=3GiB", "bytes", AtMost(3 << 30), "<=3GiB"},
		{"<=8388607TiB", "bytes", AtMost(8388607 << 40), "<=8388607TiB"},
		{"<=" + maxText, "bytes", AtMost(math.MaxInt64), "<=" + maxText},
	}
	for _, tt := range tests {
		got, err := parseBound(tt.text, tt.column)
		if err != nil || got != tt.want {
			t.Errorf("parseBound(%q, %s) = %+v, %v, want %+v", tt.text, tt.column, got, err, tt.want)
			continue
		}
		text := got.String()
		if tt.column == "bytes" {
			text = got.size()
		}
		if text != tt.canonical {
			t.Errorf("%s %q is written as %q, want %q", tt.column, tt.text, text, tt.canonical)
		}
	}
}

func TestParseBoundErrors(t *testing.T) {
	const forms = "(a number, <=N, N~P% or *)"
	tests := []struct{ text, column, want string }{
		{"abc", "bytes", `expected a bound on bytes ` + forms + `, found "abc"`},
		{"-1", "objects", `expected a bound on objects ` + forms + `, found "-1"`},
		{"+1", "objects", `expected a bound on objects ` + forms + `, found "+1"`},
		{"1_000", "objects", `expected a bound on objects ` + forms + `, found "1_000"`},
		{"1.5", "bytes", `expected a bound on bytes ` + forms + `, found "1.5"`},
		{"**", "objects", `expected a bound on objects ` + forms + `, found "**"`},
		{"<=", "objects", `expected a bound on objects ` + forms + `, found "<="`},
		{"<100", "objects", `expected a bound on objects ` + forms + `, found "<100"`},
		{"<=*", "objects", `expected a bound on objects ` + forms + `, found "<=*"`},
		{"<=4~10%", "objects", `expected a bound on objects ` + forms + `, found "<=4~10%"`},
		{"4~", "objects", `expected a bound on objects ` + forms + `, found "4~"`},
		{"4~10", "objects", `expected a bound on objects ` + forms + `, found "4~10"`},
		{"4~%", "objects", `expected a bound on objects ` + forms + `, found "4~%"`},
		{"4~-1%", "objects", `expected a bound on objects ` + forms + `, found "4~-1%"`},
		{"~10%", "bytes", `expected a bound on bytes ` + forms + `, found "~10%"`},
		{"KiB", "bytes", `expected a bound on bytes ` + forms + `, found "KiB"`},
		{"4KiB", "objects", `expected a bound on objects ` + forms + `, found "4KiB"`},
		{"4KB", "bytes", `unknown unit "KB" in the bound on bytes "4KB": use KiB, MiB, GiB or TiB`},
		{"<=4kib", "bytes", `unknown unit "kib" in the bound on bytes "<=4kib": use KiB, MiB, GiB or TiB`},
		{"4~1000%", "objects", `tolerance in "4~1000%" is too large (at most 999%; write * to allow anything)`},
		{"4~99999999999999999999%", "objects", `tolerance in "4~99999999999999999999%" is too large (at most 999%; write * to allow anything)`},
		{"9223372036854775808", "objects", `bound on objects "9223372036854775808" is too large (at most 9223372036854775807)`},
		{"<=8388608TiB", "bytes", `bound on bytes "<=8388608TiB" is too large (at most 9223372036854775807)`},
	}
	for _, tt := range tests {
		if b, err := parseBound(tt.text, tt.column); err == nil {
			t.Errorf("parseBound(%q, %s) = %v, want an error", tt.text, tt.column, b)
		} else if err.Error() != tt.want {
			t.Errorf("parseBound(%q, %s)\n got %s\nwant %s", tt.text, tt.column, err, tt.want)
		}
	}
}

func TestBoundHolds(t *testing.T) {
	tests := []struct {
		bound        Bound
		n            int64
		holds, loose bool
	}{
		{Exactly(12), 12, true, false},
		{Exactly(12), 13, false, false},
		{Exactly(12), 11, true, true},
		{Exactly(0), 0, true, false},
		{Exactly(-5), 0, true, false},
		{AtMost(100), 100, true, false},
		{AtMost(100), 101, false, false},
		{AtMost(100), 0, true, false},
		{Within(1000, 10), 1100, true, false},
		{Within(1000, 10), 1101, false, false},
		{Within(1000, 10), 900, true, false},
		{Within(1000, 10), 899, true, true},
		{Within(9, 10), 9, true, false}, // the slack is rounded down
		{Within(9, 10), 10, false, false},
		{Within(100, 200), 0, true, false},
		{Within(100, 200), 301, false, false},
		{Within(math.MaxInt64, 999), math.MaxInt64, true, false},
		{Within(math.MaxInt64/2, 300), math.MaxInt64, true, false},
		{Any(), math.MaxInt64, true, false},
		{Any(), 0, true, false},
		{Bound{}, 0, true, false},
		{Bound{}, 1, false, false},
	}
	for _, tt := range tests {
		if got := tt.bound.Holds(tt.n); got != tt.holds {
			t.Errorf("%v.Holds(%d) = %t", tt.bound, tt.n, got)
		}
		if got := tt.bound.Loose(tt.n); got != tt.loose {
			t.Errorf("%v.Loose(%d) = %t", tt.bound, tt.n, got)
		}
		if fit := tt.bound.refit(tt.n); !fit.Holds(tt.n) || fit.Loose(tt.n) || fit.form != tt.bound.form || fit.percent != tt.bound.percent {
			t.Errorf("%v.refit(%d) = %v", tt.bound, tt.n, fit)
		} else if tt.holds && !tt.loose && fit != tt.bound {
			t.Errorf("%v.refit(%d) = %v, want no change", tt.bound, tt.n, fit)
		}
	}
}

// The largest number that a tolerance allows is what exact arithmetic says, or the largest there
// is.
func TestToleranceDoesNotOverflow(t *testing.T) {
	for _, figure := range []int64{0, 1, 99, 100, 101, 4096, math.MaxInt64 / 999, math.MaxInt64 / 10, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
		for _, percent := range []int{1, 3, 10, 99, 100, 101, 200, 500, 900, 999} {
			want := big.NewInt(figure)
			want.Mul(want, big.NewInt(int64(percent)))
			want.Quo(want, big.NewInt(100))
			want.Add(want, big.NewInt(figure))
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			if got, limited := Within(figure, percent).Max(); !limited || got != want.Int64() {
				t.Errorf("%d~%d%% allows %d, want %d", figure, percent, got, want)
			}
		}
	}
}

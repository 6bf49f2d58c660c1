package allocrun

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/alloctrace"
)

// stack returns a sample with these functions, innermost first.
func stack(objects int64, functions ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{objects, 16 * objects}}
	for i, name := range functions {
		s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{
			Function: &profile.Function{Name: name, Filename: "/src/a.go"}, Line: int64(i + 1),
		}}})
	}
	return s
}

func TestSites(t *testing.T) {
	p := &profile.Profile{Sample: []*profile.Sample{
		stack(5, "internal/bytealg.MakeNoZero", "strings.Repeat", "example.com/shop/db.Load", "example.com/shop.Login"),
		stack(2, "fmt.Sprint", "example.com/shop/db.Load"),
		stack(7, "example.com/shop/db.Load"),
		stack(3, "example.com/shopping.Cart", "testing.tRunner"),
		stack(1, "example.com/shop.init", "runtime.doInit1", "runtime.main"),
		stack(4, "other.init", "runtime.doInit1", "runtime.main"),
		stack(6, "example.com/shop_test.TestX", "testing.tRunner"),
	}}
	got := make(map[string]int64)
	for _, s := range sitesOf(p, ownPackages("example.com/shop", "example.com/shop")) {
		got[s.Func] += s.Objects
		for _, c := range s.By {
			got[s.Func+" by "+c.Func] += c.Objects
		}
	}
	assert.Equal(t, map[string]int64{
		"example.com/shop/db.Load": 14, "example.com/shop/db.Load by strings.Repeat": 5, "example.com/shop/db.Load by fmt.Sprint": 2,
		elsewhere: 3, elsewhere + " by example.com/shopping.Cart": 3,
		"example.com/shop.init": 1,
		initialization:          4, initialization + " by other.init": 4,
		"example.com/shop_test.TestX": 6,
	}, got)
}

func TestKinds(t *testing.T) {
	classes := []int64{0, 8, 16, 24, 32, 48}
	for name, n := range map[string]alloctrace.Count{
		"shop.T":                                {Type: 1, Name: "shop.T", TypeSize: 20, Size: 24},
		"[]shop.T":                              {Type: 1, Name: "shop.T", TypeSize: 20, Size: 48},
		"map[string]*shop.T":                    {Type: 1, Name: "map.group[string]*shop.T", TypeSize: 48, Size: 48},
		"map[[2]int]int":                        {Type: 1, Name: "noalg.map.group[[2]int]int", TypeSize: 48, Size: 48},
		"(values of kind uint64 in interfaces)": {Type: 1, Name: "runtime.uint64InterfacePtr", TypeSize: 8, Size: 8},
		runtimes:                                {Type: 1, Name: "*runtime.sudog", TypeSize: 8, Size: 8},
		untyped:                                 {Size: 32},
	} {
		assert.Equal(t, name, kindOf(&n, &alloccode.Types{}, classes).Name)
	}
}

func TestSetting(t *testing.T) {
	setting := func(env ...string) string { return alloctrace.Setting(cli.Lookup(env, "GODEBUG")) }
	assert.Equal(t, "traceallocfree=1", setting("X=1"))
	assert.Equal(t, "b=2,traceallocfree=1", setting("GODEBUG=c=3", "GODEBUG=b=2"))
	assert.Equal(t, "traceallocfree=1", setting("GODEBUG="))
}

package leakcheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type guest struct {
	id   int
	data *[200]*int
}

// Each guest is in hotelRooms, and some are in hotelVisitors, too. Objects at the same distance
// from both are charged to hotelRooms, which comes first.
var (
	hotelRooms    []*guest
	hotelVisitors struct{ byID map[int]*guest }
	hotelSame     []*guest // hotelRooms under another name
)

func fillHotel(t *testing.T, n, listed int) {
	fillCut(t) // skips where there are no snapshots
	hotelVisitors.byID = make(map[int]*guest)
	for i := range n {
		g := &guest{id: i, data: new([200]*int)}
		hotelRooms = append(hotelRooms, g)
		if i < listed {
			hotelVisitors.byID[i] = g
		}
	}
	hotelSame = hotelRooms
	t.Cleanup(func() { hotelRooms, hotelSame, hotelVisitors.byID = nil, nil, nil })
}

func TestAlsoHeld(t *testing.T) {
	rooms := leakcheck.Path("leakcheck_test.hotelRooms[*]").MaxRetainedBytes(7)
	for _, c := range []struct {
		guests, listed int
		want           string
	}{
		{20, 20, "cutting that is not enough, all 20 objects are also held by the package variable github.com/leakgate/leakgate/leakcheck_test.hotelVisitors (elsewhere_test.go:21)\n"},
		{20, 10, "cutting that is not enough, 10 of the 20 objects are also held by the package variable github.com/leakgate/leakgate/leakcheck_test.hotelVisitors (elsewhere_test.go:21)\n"},
		{20, 4, ""},
		{1, 1, "cutting that is not enough, it is also held by the package variable github.com/leakgate/leakgate/leakcheck_test.hotelVisitors (elsewhere_test.go:21)\n"},
	} {
		t.Run(fmt.Sprint(c.guests, c.listed), func(t *testing.T) {
			fillHotel(t, c.guests, c.listed)
			ft := &recordingT{name: "TestHotel"}
			if leakcheck.AssertRetained(ft, rooms) {
				t.Fatal("passed")
			}
			message := strings.Join(ft.errors, "\n")
			if c.want == "" {
				if strings.Contains(message, "also held") {
					t.Error(message)
				}
				return
			}
			wantParts(t, message, c.want, "   at github.com/leakgate/leakgate/leakcheck_test.hotelVisitors.byID[*]\n")
		})
	}
}

var hotelIndex struct{ byFloor, byName []*guest }

// A variable that holds objects in two ways is named once.
func TestAlsoHeldByTheSame(t *testing.T) {
	fillHotel(t, 20, 0)
	hotelIndex.byFloor, hotelIndex.byName = hotelRooms, slices.Clone(hotelRooms)
	t.Cleanup(func() { hotelIndex.byFloor, hotelIndex.byName = nil, nil })
	hotelRooms, hotelSame = nil, nil
	ft := &recordingT{name: "TestHotel"}
	if leakcheck.AssertRetained(ft, leakcheck.Type[*guest]().None()) {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "held by the package variable github.com/leakgate/leakgate/leakcheck_test.hotelIndex (",
		"cutting that is not enough, all 20 objects are also held by the same root on another path\n", ".hotelIndex.byName[*]\n")
}

// Messages show what is in some of the objects, unless LEAKGATE_EXAMPLES says anything but on; also
// where nothing else holds them.
func TestExamplesInMessages(t *testing.T) {
	for value, shown := range map[string]bool{"": true, "On": true, "1": true, "off": false, "OFF": false, "0": false, "no": false, "none": false} {
		t.Setenv("LEAKGATE_EXAMPLES", value)
		fillHotel(t, 20, 0)
		ft := &recordingT{name: "TestHotel"}
		if leakcheck.AssertRetained(ft, leakcheck.Root("leakcheck_test.hotelRooms").MaxObjects(1)) {
			t.Fatal("passed")
		}
		message := strings.Join(ft.errors, "\n")
		const want = "    for example *leakcheck_test.guest {id: 1}, {id: 2}, {id: 3}\n"
		if strings.Contains(message, want) != shown || strings.Contains(message, "for example") != shown {
			t.Errorf("%q: %s", value, message)
		}
		hotelRooms, hotelSame = nil, nil
	}
}

func TestGrowthAlsoHeld(t *testing.T) {
	fillHotel(t, 1, 1)
	hotelVisitors.byID = make(map[int]*guest)
	ft := &recordingT{name: "TestHotel"}
	if leakcheck.AssertNoGrowth(ft, func() {
		g := &guest{data: new([200]*int)}
		hotelRooms = append(hotelRooms, g)
		hotelVisitors.byID[len(hotelVisitors.byID)] = g
	}, leakcheck.Iterations(5)) {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "cutting that is not enough, all ", "objects are also held by the package variable github.com/leakgate/leakgate/leakcheck_test.hotelVisitors (elsewhere_test.go:21)\n")
}

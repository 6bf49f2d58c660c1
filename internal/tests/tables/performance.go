package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine is the line that says where and when the figures were measured.
func (m *measurement) machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load average at the end " + strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return fmt.Sprintf("%s, %s, %d processors (%s)%s; %.0f s of benchmarks, medians.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOMAXPROCS(0), m.cpu, load, time.Since(m.start).Seconds())
}

// A goal is a row of the first table. met says whether the measured figure is within the limit.
type goal struct {
	what, limit, measured string
	met                   bool
}

func atMost(what string, limit, measured float64, unit string) goal {
	return goal{what, "<= " + figure(limit) + " " + unit, figure(measured) + " " + unit, measured <= limit}
}

// goals is the table of the goals.
func (m *measurement) goals() string {
	heap := m.yardstick["Heap/mix"]
	small := m.common["Heap/mix"]
	build := m.index["Build"]
	collected := m.assert["AssertCollected"]
	size, _ := strconv.ParseFloat(m.size, 64)
	gain := 4.3
	if minor(runtime.Version()) != "go1.26" {
		gain = 4.67 // encoding/json
	}
	speedup := m.single["Heap/mix"]["scan-ms"] / small["scan-ms"]
	collections := func(what string, limit float64, of string) goal {
		return atMost(what+", 20 MB of heap", limit, m.assert[of]["GCs/op"], "x GC")
	}
	milliseconds := func(what string, limit float64, of string) goal {
		return atMost(what+", 3,000 objects", limit, m.assert[of]["ns/op"]/1e6, "ms")
	}
	growth := func(what, of string) goal {
		return atMost("AssertNoGrowth that fails, beyond three times its calls: "+what, 3, m.fails["AssertNoGrowthFails/"+of]["beyond-s"], "s")
	}
	bound := func(what, of string) goal {
		return atMost(what+" that fails, 20 MB of heap", 3, m.fails[of]["ns/op"]/1e9, "s")
	}
	rows := []goal{
		collections("AssertNoGrowth of a clean op", 5, "AssertNoGrowth"),
		milliseconds("AssertNoGrowth of a clean op", 4, "AssertNoGrowthSmall"),
		collections("Root bound that passes", 0.1, "AssertRoot"),
		milliseconds("Root bound that passes", 4, "AssertRootSmall"),
		collections("Type bound that passes", 10, "AssertType"),
		milliseconds("Type bound that passes", 4, "AssertTypeSmall"),
		growth("an object a call", "object"),
		growth("10,000 objects a call", "10kObjects"),
		growth("allocations on deep stacks", "deepStack"),
		growth("a goroutine a call", "goroutine"),
		growth("20 goroutines a call that wait for one mutex", "waiters"),
		bound("Root bound", "AssertRootFails"),
		bound("Type bound", "AssertTypeFails"),
		atMost("suite of 200 assertions that pass, 3,000 objects", 1, m.suite["Suite/All"]["ns/op"]/1e9, "s"),
		atMost("ExpectCollected that passes, above the collection", 1, (collected["ns/op"]-collected["ns/GC"])/1e6, "ms"),
		atMost(fmt.Sprintf("Capture + Scan of %.1f M objects", heap["objects"]/1e6), 7, heap["x-GC"], "x GC"),
		atMost("the same with retained sizes", 12, m.yardstick["HeapRetained/mix"]["x-GC"], "x GC"),
		atMost(fmt.Sprintf("ns/object of that, for each of %.1f M", small["objects"]/1e6), 1.2, heap["ns/object"]/small["ns/object"], "times"),
		atMost("extra memory while scanning", 16, heap["extra-B/object"], "B/object"),
		{"two processors against one, Scan", ">= 1.70 times", figure(speedup) + " times", speedup >= 1.7},
		atMost("pause of a snapshot, 300 MB of small objects", 10, m.freeze["Take"]["median-pause-ms"], "ms"),
		atMost("index of a 20 MB binary, cold", 300, build["ns/op"]/1e6, "ms"),
		atMost("the same, warm", 30, m.index["OpenWarm"]["ns/op"]/1e6, "ms"),
		atMost("size of the index", 50, build["index-%"], "% of the DWARF"),
		atMost("first assertion with relink, above the link", 0.5, (m.twin - m.link).Seconds(), "s"),
		atMost("what a test binary gains", gain, size/(1<<20), "MiB"),
		atMost("initialisation of this module's packages", 0.2, float64(m.init)/1e6, "ms"),
	}
	var b strings.Builder
	b.WriteString("| what | goal | measured | met |\n|---|---|---|---|\n")
	for _, g := range rows {
		met := "no"
		if g.met {
			met = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.what, g.limit, g.measured, met)
	}
	return b.String()
}

// shapes is the table of heaps. Retained sizes have the columns in parentheses.
func (m *measurement) shapes() string {
	var b strings.Builder
	b.WriteString("| heap | objects | GC ms | Capture ms | Scan ms | ns/object | x GC | pause ms | cores | image B/object | extra B/object |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	row := func(name string, r result) {
		fmt.Fprintf(&b, "| %s | %.0f", name, r["objects"])
		for _, unit := range []string{"gc-ms", "capture-ms", "scan-ms", "ns/object", "x-GC", "pause-ms", "cores", "image-B/object", "extra-B/object"} {
			fmt.Fprintf(&b, " | %s", figure(r[unit]))
		}
		b.WriteString(" |\n")
	}
	for _, table := range []map[string]result{m.common, m.yardstick} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			kind, shape, _ := strings.Cut(name, "/")
			switch {
			case strings.Contains(shape, "-"):
				// a name with the number of processors; bench also has it without
			case kind == "HeapRetained":
				row(shape+", retained", table[name])
			default:
				row(shape, table[name])
			}
		}
	}
	return b.String()
}

// figure formats a number with about three digits.
func figure(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

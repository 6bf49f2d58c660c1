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

// machine says where and when this was measured.
func (m *measurement) machine() string {
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load average at the end " + strings.Join(strings.Fields(string(text))[:3], " ")
	}
	return fmt.Sprintf("%s, %s, %d processors (%s)%s; %.0f s of benchmarks, medians.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOMAXPROCS(0), m.cpu, load, time.Since(m.start).Seconds())
}

// A goal is a row of the first table. The measured figure must not be above the limit, or with
// atLeast not below.
type goal struct {
	what, limit, measured string
	met                   bool
}

func atMost(what string, limit, measured float64, unit string) goal {
	return goal{what, "<= " + figure(limit) + " " + unit, figure(measured) + " " + unit, measured <= limit}
}

// goals is the table of what the issue asks for.
func (m *measurement) goals() string {
	heap := m.yardstick["Heap/mix"]
	retained := m.yardstick["HeapRetained/mix"]
	small := m.common["Heap/mix"]
	build, warm := m.index["Build"], m.index["OpenWarm"]
	collected := m.assert["AssertCollected"]
	size, _ := strconv.ParseFloat(m.size, 64)
	speedup := m.single["Heap/mix"]["scan-ms"] / small["scan-ms"]
	yardstick := fmt.Sprintf("%.1f M objects", heap["objects"]/1e6)
	rows := []goal{
		atMost("pause of a snapshot, 300 MB of small objects", 10, m.freeze["Take"]["median-pause-ms"], "ms"),
		atMost("Capture + Scan of "+yardstick, 10, heap["x-GC"], "x GC"),
		atMost("the same with retained sizes", 20, retained["x-GC"], "x GC"),
		atMost(fmt.Sprintf("ns/object of that, for each of %.1f M", small["objects"]/1e6), 1.2, heap["ns/object"]/small["ns/object"], "times"),
		{"two processors against one, Scan", ">= 1.70 times", figure(speedup) + " times", speedup >= 1.7},
		atMost("extra memory while scanning", 24, heap["extra-B/object"], "B/object"),
		atMost("an assertion that passes, 20 MB of heap, warm, settling included", 50, m.assert["AssertRetained"]["ns/op"]/1e6, "ms"),
		atMost("the same with a small heap: 3,000 objects", 20, m.assert["AssertSmall"]["ns/op"]/1e6, "ms"),
		atMost("ExpectCollected that passes, above the collection", 1, (collected["ns/op"]-collected["ns/GC"])/1e6, "ms"),
		atMost("index of a 20 MB binary, cold", 300, build["ns/op"]/1e6, "ms"),
		atMost("the same, warm", 30, warm["ns/op"]/1e6, "ms"),
		atMost("size of the index", 50, build["index-%"], "% of the DWARF"),
		atMost("first assertion with relink, above the link", 0.5, (m.twin - m.link).Seconds(), "s"),
		atMost("what a test binary gains", 1.5, size/1e6, "MB"),
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
				// with the number of processors; it is there without, too
			case kind == "HeapRetained":
				row(shape+", retained", table[name])
			default:
				row(shape, table[name])
			}
		}
	}
	return b.String()
}

// figure prints three digits.
func figure(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

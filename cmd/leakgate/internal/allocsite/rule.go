package allocsite

import "strings"

// A rule says what a function of the runtime allocates: memory of the type that one of its arguments
// is, or always the same.
type rule struct {
	argument int
	prefix   string // before the type's name
	always   string // "": it depends on the argument
}

// ruleOf returns the rule of a function (go1.26, go1.27: runtime/malloc.go, slice.go, chan.go, string.go,
// iface.go, map.go, rawbyteslice).
func ruleOf(name string) (rule, bool) {
	short, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return rule{}, false
	}
	switch {
	case strings.HasPrefix(short, "mallocgc"):
		return rule{argument: 1}, true
	case strings.HasPrefix(short, "mapassign"):
		return rule{argument: 0}, true
	case strings.HasPrefix(short, "concatstring"):
		return rule{always: "string"}, true
	case strings.HasPrefix(short, "concatbyte"):
		return rule{always: "[]uint8"}, true
	}
	r, ok := rules[short]
	return r, ok
}

var rules = map[string]rule{
	"newobject":     {argument: 0},
	"convT":         {argument: 0},
	"convTnoptr":    {argument: 0},
	"makechan":      {argument: 0},
	"makechan64":    {argument: 0},
	"makemap":       {argument: 0},
	"makemap_small": {always: "(headers of maps)"},
	"makemap64":     {argument: 0},
	"newarray":      {argument: 0, prefix: "[]"},
	"makeslice":     {argument: 0, prefix: "[]"},
	"makeslice64":   {argument: 0, prefix: "[]"},
	"makeslicecopy": {argument: 0, prefix: "[]"},
	"moveSlice":     {argument: 0, prefix: "[]"}, "moveSliceNoCap": {argument: 0, prefix: "[]"},
	"growslice": {argument: 4, prefix: "[]"}, "growsliceNoAlias": {argument: 4, prefix: "[]"},
	"growsliceBuf": {argument: 4, prefix: "[]"}, "growsliceBufNoAlias": {argument: 4, prefix: "[]"},
	"slicebytetostring": {always: "string"}, "slicerunetostring": {always: "string"}, "intstring": {always: "string"},
	"rawstring": {always: "string"}, "rawstringtmp": {always: "string"}, "gostring": {always: "string"},
	"stringtoslicebyte": {always: "[]uint8"}, "rawbyteslice": {always: "[]uint8"}, "gobytes": {always: "[]uint8"},
	"stringtoslicerune": {always: "[]int32"}, "rawruneslice": {always: "[]int32"},
}

// boxes are the functions that put a value of a basic kind into an interface, with that kind: the named type is not
// an argument of theirs, but is put beside the pointer that they return.
var boxes = map[string]string{
	"runtime.convT16": "uint16", "runtime.convT32": "uint32", "runtime.convT64": "uint64",
	"runtime.convTstring": "string", "runtime.convTslice": "slice",
}

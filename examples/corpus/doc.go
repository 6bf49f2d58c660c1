// Package corpus is what AssertNoGrowth is held to: programs that leak, one for each way to do it, and
// healthy ones that look a little like a leak. The driver in the folder above runs them.
package corpus

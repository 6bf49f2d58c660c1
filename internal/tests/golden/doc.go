// Package golden judges the names of golden files by the rules for files of modules.
package golden

package engine

import (
	"slices"
	"testing"
)

// TestPermute: every size is permuted, and the values of a size are as in tools/reference/permutation.py.
func TestPermute(t *testing.T) {
	for n := uint32(1); n <= 300; n++ {
		key := Philox([2]uint32{n, 1}, [4]uint32{})
		seen := make([]bool, n)
		for x := range n {
			y := Permute(x, n, key)
			if y >= n || seen[y] {
				t.Fatalf("Permute(%d, %d) = %d; want a permutation", x, n, y)
			}
			seen[y] = true
		}
	}
	const n = 18
	key := Philox([2]uint32{7, Stream("minibatch")}, [4]uint32{1, 0, 5, 1})
	var got []uint32
	for x := range uint32(n) {
		got = append(got, Permute(x, n, key))
	}
	if want := []uint32{7, 13, 8, 17, 0, 3, 6, 16, 10, 15, 1, 12, 9, 2, 11, 14, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("permutation of %d is %v; want %v", n, got, want)
	}
	if x := Permute(1<<31-1, 1<<31, key); x >= 1<<31 {
		t.Errorf("Permute at the largest size gives %d", x)
	}
}

// TestPermuteMixes: over many keys every place is as likely as any other, alone and beside a neighbour.
func TestPermuteMixes(t *testing.T) {
	const n, draws = 61, 61 * 60 * 25
	var count [n][n]int
	for i := range uint32(draws) {
		key := Philox([2]uint32{1, 2}, [4]uint32{i, 0, 0, 0})
		count[Permute(0, n, key)][Permute(1, n, key)]++
	}
	chi := 0.0
	for i := range n {
		if count[i][i] != 0 {
			t.Errorf("two elements share place %d", i)
		}
		for j := range n {
			if i != j {
				expected := draws / float64(n*(n-1))
				chi += (float64(count[i][j]) - expected) * (float64(count[i][j]) - expected) / expected
			}
		}
	}
	// 3659 degrees of freedom: the 99.9 % quantile is 3929.
	if t.Logf("chi-square %.1f of 3659 degrees of freedom", chi); chi > 3929 {
		t.Errorf("chi-square of pairs of places is %.1f; want at most 3929", chi)
	}
}

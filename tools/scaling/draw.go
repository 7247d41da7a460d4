package main

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// drawn is a line.
type drawn struct {
	label  string
	points plotter.XYs
}

// read reads the efficiency over the number of workers, a line for each link and size of results.
func read(path, prefix string) ([]drawn, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []drawn
	for _, row := range rows[1:] {
		of := map[string]float64{}
		for i, name := range rows[0] {
			of[name], _ = strconv.ParseFloat(row[i], 64) // all that is drawn is a number
		}
		if of["each"] != 4 || of["rate"] != 1e9 || row[slices.Index(rows[0], "loose")] == "true" {
			continue
		}
		label := fmt.Sprintf("%s%g ms, %g B a slice", prefix, of["latency_ms"], of["bytes"])
		at := slices.IndexFunc(all, func(d drawn) bool { return d.label == label })
		if at < 0 {
			at, all = len(all), append(all, drawn{label: label})
		}
		p := plotter.XY{X: of["workers"], Y: of["efficiency"]}
		if same := slices.IndexFunc(all[at].points, func(q plotter.XY) bool { return q.X == p.X }); same >= 0 {
			all[at].points[same].Y = max(all[at].points[same].Y, p.Y)
			continue
		}
		all[at].points = append(all[at].points, p)
	}
	for _, d := range all {
		slices.SortFunc(d.points, func(a, b plotter.XY) int { return int(a.X - b.X) })
	}
	return all, nil
}

// draw draws the efficiency over the number of workers.
func draw(to, path, before string) error {
	lines, err := read(path, "")
	if err != nil {
		return err
	}
	if before != "" {
		more, err := read(before, "before: ")
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	p := plot.New()
	p.BackgroundColor = color.White
	p.X.Label.Text, p.Y.Label.Text = "workers", "efficiency"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{}
	var ticks plot.ConstantTicks
	for w := 1; w <= 1024; w *= 4 {
		ticks = append(ticks, plot.Tick{Value: float64(w), Label: strconv.Itoa(w)})
	}
	p.X.Tick.Marker, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = ticks, 1, 1100, 0, 1
	p.Legend.Left, p.Legend.Top = true, false
	p.Add(plotter.NewGrid())
	for i, d := range lines {
		line, dots, err := plotter.NewLinePoints(d.points)
		if err != nil {
			return err
		}
		line.Color, dots.Color, dots.Shape, line.Dashes = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i), plotutil.Dashes(i/4)
		p.Add(line, dots)
		p.Legend.Add(d.label, line, dots)
	}
	return p.Save(7*vg.Inch, 4*vg.Inch, to)
}

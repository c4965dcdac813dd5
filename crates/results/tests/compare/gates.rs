//! Thresholds.

use netfathom_results::compare::{Passage, Threshold, Wishes, apart, gates};

use crate::simulated::Maker;

fn passage(factor: f64, threshold: &str) -> Passage {
    let mut maker = Maker::new(7);
    let (a, b) = (maker.run(10, 1.0), maker.run(10, factor));
    let threshold: Threshold = threshold.parse().unwrap();
    let wishes = Wishes { named: vec![threshold.quantity().into()], force: false };
    gates(&apart(&a, &b, &wishes).unwrap(), &[threshold]).unwrap().gates[0].passage
}

#[test]
fn a_change_is_beyond_within_or_untold() {
    assert_eq!(passage(1.3, "tx.mean>5%"), Passage::Beyond);
    assert_eq!(passage(1.3, "tx.mean>100ns"), Passage::Beyond);
    assert_eq!(passage(1.3, "tx.mean > 80 %"), Passage::Within);
    assert_eq!(passage(1.3, "tx.mean>1ms"), Passage::Within);
    assert_eq!(passage(1.3, "tx.mean<-5%"), Passage::Within);
    assert_eq!(passage(0.7, "tx.mean<-5%"), Passage::Beyond);
    assert_eq!(passage(1.0, "tx.mean>20%"), Passage::Within);
    assert_eq!(passage(1.0, "tx.mean>0.1%"), Passage::CannotTell);
    // Told apart from none, but not beyond 30 %, nor surely within.
    assert_eq!(passage(1.29, "tx.mean>31%"), Passage::CannotTell);
    // Both directions: a rate that is the same in all trials.
    assert_eq!(passage(1.3, "rate<-3%"), Passage::Within);
}

#[test]
fn nonsense_is_told_with_what_would_be_right() {
    let said = |text: &str| text.parse::<Threshold>().unwrap_err().to_string();
    for (text, why) in [
        ("", "neither > nor <"),
        ("tx.mean", "neither > nor <"),
        (">5%", "no quantity before"),
        ("tx.mean>", "no change behind"),
        ("tx.mean>=5%", "only > and <"),
        ("tx.mean>five", "no number"),
        ("tx.mean>nan", "no number"),
        ("tx.mean>inf%", "finite"),
        ("tx.mean>1e999%", "finite"),
        ("tx.mean>--5%", "no number"),
        ("tx.mean<5%", "nothing has changed"),
        ("tx.mean>-5%", "nothing has changed"),
    ] {
        let said = said(text);
        assert!(said.contains(why) && said.contains("'tx.mean>5%'"), "{text}: {said}");
    }
}

#[test]
fn a_quantity_that_is_not_there_names_those_that_are_near() {
    let mut maker = Maker::new(8);
    let (a, b) = (maker.run(3, 1.0), maker.run(3, 1.0));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let said = |text: &str| gates(&comparison, &[text.parse().unwrap()]).unwrap_err().to_string();
    assert!(said("tx.maen>5%").contains("there are tx.mean"), "{}", said("tx.maen>5%"));
    assert!(said("tx.mean>5").contains("counted in time"), "{}", said("tx.mean>5"));
    assert!(said("rate>5ms").contains("things a second"), "{}", said("rate>5ms"));
}

#[test]
fn one_trial_passes_only_where_nobody_is_strict() {
    let mut maker = Maker::new(9);
    let (a, b) = (maker.run(1, 1.0), maker.run(1, 9.0));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let gates = gates(&comparison, &["tx.mean>5%".parse().unwrap()]).unwrap();
    assert_eq!(gates.gates[0].passage, Passage::CannotTell);
    assert!(gates.fail(true) && !gates.fail(false));
}
